// numbers
