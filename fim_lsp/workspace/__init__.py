"""
Files on disk: which are private, and what each workspace knows of them.

paths: turns URIs into files, and into the names that a model may see
regular_files: reads regular files only, and no more than asked for
git_files: finds the repository of a folder, its configuration, and its rules besides `.gitignore`
ignore_files: decides whether a file is private, by the ignore files above it
git_commit: what a model may see of the staged diff, and the last subjects, by a git that is told nothing
files: lists and reads the files of a workspace
syntax_child: the process that parses files: a line of JSON in, a line out
reader: has that process parse texts, cuts them into pieces, and reads each version once
explorer: the index of files that are not open, built in the background
"""
