"""
The models on offer: which there are, which suit this machine, and their download.

table: the models on offer: files, checksums, licences, published quality; which suit a machine
download: downloads a model's file: resumes, checks the sum, and leaves a whole file or none
on_disk: finds models that are on this machine already
"""
