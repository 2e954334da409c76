"""
Files on disk: which are private, and what each workspace knows of them.

paths: turns URIs into files, and into the names that a model may see
git_config: reads the configuration files of git
git_index: finds the `.gitignore` files that git keeps from the disk
git_files: finds the repository of a folder, and its rules besides `.gitignore`
ignore_files: decides whether a file is private, by the ignore files above it
files: lists and reads the files of a workspace
syntax_child: the process that parses files: a line of JSON in, a line out
reader: has that process parse texts, once per version
explorer: indexes files that are not open, in the background
"""
