"""
Several servers as one `Backend`.

local_servers: finds llama.cpp servers of this user at the usual ports
endpoints: several backends as one: the first healthy one answers; failures, attempts to connect
"""
