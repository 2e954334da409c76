"""
Real model servers, and one contract of what a user of each gets: see scripts/test-servers.

servers: how each of them is started, and what the product is told of it
relay: counts what a server is asked, and remembers what it says
keys: what typing costs a server, beside another checkout
rows: the contract, a row for each promise
__main__: runs the rows against the servers, and writes the table
"""
