"""
Several servers as one `Backend`.

local_servers: finds llama.cpp servers of this user at the usual ports
endpoint: one server: its failures, and the attempt to connect to it
endpoints: several backends as one: the first healthy one answers
"""
