"""From a document to its verdict, without Scrapy: workers, claims, breaker."""
