"""Does a faster interconnect pay?"""
