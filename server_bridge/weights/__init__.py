"""
The models on offer: which there are, which suit this machine, and their download.

table: the models on offer: files, checksums, licences, published quality; which suit a machine
download: downloads a model's file, whole or not at all; finds the files that are here
"""
