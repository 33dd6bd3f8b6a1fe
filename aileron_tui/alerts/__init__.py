"""How people are told outside the surfaces that a request waits: desktop notifications and a webhook."""
