"""Language models that chat: behind an endpoint or in this process, within a limit."""
