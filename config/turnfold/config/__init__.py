"""Settings, and what models cost and hold. Only this package reads the environment."""
