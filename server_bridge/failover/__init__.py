"""
Several servers as one `Backend`.

local_servers: finds llama.cpp servers of this user at the usual ports
endpoint: one of several servers: its failures, the attempts to connect
in_time: what is asked of one server while another could go on
endpoints: several backends as one: the first healthy one answers
"""
