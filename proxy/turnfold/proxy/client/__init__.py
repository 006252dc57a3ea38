"""The Python client of a running Turnfold."""

from turnfold.proxy.client.client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
