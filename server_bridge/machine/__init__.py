"""
The machine: its addresses, sockets and programs, and files that only this user may read.

disks: the way to disks that may not answer, in threads
addresses: decides whether an address is on this machine, and how to show it
processes: the time and the memory of a process, its open files, and when it ends
pages: gives memory that holds zeros back to the system
sockets: tells the user of a TCP socket, and the process at the other end of a connection
private_files: files that only this user may read; in some a process says where it listens
locks: files by which processes share another one, and tell who lives
shown: what a process that sessions share was shown, also by those that have ended
notes: names the user's files whose text is on disk, so that it can be judged
executables: finds programs and starts them, never from the user's project
"""
