"""The language server: knows editors, and models only through `server_bridge.protocol`."""

__version__ = "0.1.0"
