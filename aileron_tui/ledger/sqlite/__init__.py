"""The ledger in SQLite. Nothing outside this folder sees a connection, a query or an error of SQLite."""
