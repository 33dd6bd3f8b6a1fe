"""The ledger: the durable record of everything that was asked, shown, decided and done, and the search in it."""
