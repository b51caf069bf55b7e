"""An ordinary Scrapy project whose crawls keep one copy of each page."""
