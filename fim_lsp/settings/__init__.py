"""
Settings: each with its default and the reason for it; read from files, the editor and flags.

option: what a setting has besides its type and default, such as what a project file may do to it
private_names: names of files that hold secrets by convention; data
backend: the settings of `fim.backend`, and where code goes with them
config: every setting, with its default and the reason for it
merge: every setting by name; layers of raw settings into a `Config` and what is wrong with them
files: reads the settings files, and merges them with what the editor and the flags say
"""
