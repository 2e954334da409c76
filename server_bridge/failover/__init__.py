"""
Several servers as one `Backend`.

local_servers: finds llama.cpp servers of this user at the usual ports
endpoint: one of several servers: its failures, the attempts to connect
endpoints: several backends as one: the first healthy one answers
"""
