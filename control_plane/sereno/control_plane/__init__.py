"""The control plane: the catalog of what was declared, its history, and the signed manifest that travels down."""
