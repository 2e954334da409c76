"""
Settings: each with its default and the reason for it; read from files, the editor and flags.

option: what a setting has besides its value
config: every setting, with its default and the reason for it; names of files that hold secrets
keys: keys as users write them, into one form
merge: every setting by name; layers of raw settings into a `Config` and what is wrong with them
files: reads the settings files, and merges them with what the editor and the flags say
"""
