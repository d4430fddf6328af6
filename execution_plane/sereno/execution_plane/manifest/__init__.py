"""How definitions reach the execution plane: signed manifests, checked before anything in them is believed."""
