"""Tries the API document against a running gate with Schemathesis (`make api`)."""
