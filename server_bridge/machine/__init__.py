"""
The machine: its addresses, sockets and programs, and files that only this user may read.

addresses: decides whether an address is on this machine, and how to show it
sockets: lists the TCP sockets at an address of this machine, with the user of each
peer: finds the user and the process at the other end of a local connection
private_files: writes and reads files that only this user may read
announcements: says to this user's programs where a process listens, and which secret it asks for
executables: finds programs and starts them, never from the user's project
"""
