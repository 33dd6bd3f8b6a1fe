"""Tests of the gate: real sandbox, real ledger, real sample service."""
