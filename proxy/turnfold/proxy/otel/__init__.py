"""Traces by OpenTelemetry, loaded only if tracing is on."""
