"""A person in a real Chromium, in front of the real nginx and Envoy."""
