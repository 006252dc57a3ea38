"""Making a request fit its upstream's window, before it is sent or after the upstream has refused it."""
