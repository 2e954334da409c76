"""
The models on offer: which there are, which suit this machine, and their download.

table: the models on offer: files, checksums, licences, published quality
choice: which of them suit a machine
model_files: downloads one of them, whole or not at all; finds the files that are here
"""
