"""The durable record of everything that was asked, shown, decided and done, and its search."""
