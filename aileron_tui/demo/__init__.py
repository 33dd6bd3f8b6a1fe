"""The demo: a sample service, the bundled suite configured for it, and a scripted agent."""
