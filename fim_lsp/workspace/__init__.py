"""
Files on disk: which are private, and what each workspace knows of them.

paths: turns URIs into files, and into the names that a model may see
regular_files: reads regular files only, and no more than asked for
git_config: reads git's configuration files; runs nothing
git_files: finds the repository of a folder, and its rules besides `.gitignore`
borrowed_git: runs git on the commits of a repository, in an empty one that borrows its objects
ignore_files: decides whether a file is private, by the ignore files above it
git_commit: what a model may see of the staged diff, and the last subjects
files: lists and reads the files of a workspace
syntax_child: the process that parses files: a line of JSON in, a line out
syntax_process: has that process parse texts, and restarts it
reader: cuts files into pieces, and reads each version of a file once
explorer: the index of files that are not open, built in the background
"""
