"""What does a run cost, and which system meets a deadline or a budget best?"""
