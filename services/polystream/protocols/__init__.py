"""Protocols move events over one transport each: thin files that know no engine and no store."""
