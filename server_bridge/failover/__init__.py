"""
Several servers as one `Backend`.

local_servers: finds llama.cpp servers of this user at the usual ports
breaker: decides when to try a failed server again
endpoint: one server: its health, and the attempt to connect to it
race: connects to several servers at once, and decides how long to wait for each
endpoints: several backends as one: the first healthy one answers
"""
