"""
Settings: each with its default and the reason for it; read from files, the editor and flags.

option: what a setting has besides its type and default, such as what a project file may do to it
private_names: names of files that hold secrets by convention; data
backend: the settings of `fim.backend`
config: every setting, with its default and the reason for it
schema: the settings by name: which values each takes
egress: where code goes with these settings, and what is wrong with the way there
merge: merges layers of raw settings into `(Config, problems)`; a project's layer may only restrict and tune
files: reads the settings files, and merges them with what the editor and the flags say
"""
