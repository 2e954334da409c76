"""
Real model servers, and one contract of what a user of each gets: see scripts/test-servers.

servers: how each of them is started, and what the product is told of it
rows: the contract, a row for each promise
__main__: runs the rows against the servers, and writes the table
"""
