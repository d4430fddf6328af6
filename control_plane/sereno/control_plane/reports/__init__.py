"""What the execution plane tells upwards, folded into what the catalog shows about a subscription."""
