"""From two pages, with their facts and addresses, to a ruling."""
