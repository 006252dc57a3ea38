"""The client's side: connections, limits, headers, credentials and refusals, whatever a request is about."""
