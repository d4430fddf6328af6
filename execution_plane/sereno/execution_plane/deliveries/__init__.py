"""What came to the webhook endpoints and what was answered, kept for the operator; and delivering it again."""
