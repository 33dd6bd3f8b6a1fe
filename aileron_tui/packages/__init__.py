"""What can be installed: packages from folders, archives and addresses, and the publishers who signed them."""
