"""The upstream's side: which one a request goes to, connections, and passing responses on."""
