"""The bundled families of environments."""
