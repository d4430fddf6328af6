"""The accounts: what runs used replaces what was reserved for them, in the period of the reservation."""
