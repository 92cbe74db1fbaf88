"""What schedulers of clusters are asked, and what they answer."""
