"""The package `polystream` of the .proto files."""
