"""List prices in us-east-1, on demand, without the free tier. Dollars.

Named, so that a page which quotes a sum can be checked, and a new price is changed in one place. They stand
as of November 2026 and are not asked for anew: compare them with the pages that are named.
"""

WRITE_UNIT = 0.625 / 1_000_000
READ_UNIT = 0.125 / 1_000_000
"""aws.amazon.com/dynamodb/pricing/on-demand."""
STORED_GB = 0.25
"""A GB a month in a DynamoDB table; aws.amazon.com/dynamodb/pricing/on-demand."""
BACKUP_GB = 0.20
"""A GB a month of point-in-time recovery; the same page."""
LAMBDA_REQUEST = 0.20 / 1_000_000
LAMBDA_GB_SECOND = 0.0000133334
"""Arm; aws.amazon.com/lambda/pricing. x86-64 is 0.0000166667."""
METRIC = 0.30
ALARM = 0.10
LOG_GB = 0.50
"""A month, a month, and a GB taken in; aws.amazon.com/cloudwatch/pricing."""
DASHBOARD = 3.00
"""A month; the first three of an account, with at most 50 metrics each, are free; the same page."""
QUERY_ALARM_METRIC = 0.10
"""A month, for each metric that the query of an alarm analyses; the same page."""
DURABLE_OPERATION = 8.00 / 1_000_000
"""An operation of a durable function, as a step is; aws.amazon.com/lambda/pricing, transcribed 2026-09-20."""
STATE_TRANSITION = 0.025 / 1_000
"""A state transition of a standard workflow; aws.amazon.com/step-functions/pricing."""
