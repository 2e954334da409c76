"""
Settings: each with its default and the reason for it; read from files, the editor and flags.

backend: what a setting has besides its type; the settings of `fim.backend`, and where code goes
config: every setting, with its default and the reason for it; names of files that hold secrets
merge: every setting by name; layers of raw settings into a `Config` and what is wrong with them
files: reads the settings files, and merges them with what the editor and the flags say
"""
