"""The ledger in SQLite. No connection, query or error of SQLite is visible outside this package."""
